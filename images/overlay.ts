/** The folder of files that are laid over the root. */
import { ImageFault } from './fault.ts'
import { Tree, type Entry } from './tree.ts'

/**
 * Folders and files of an overlay, parents before children: all that is copied, and all that its hash must cover. Throws ImageFault `refused` for
 * anything else: a link would be followed on the host, and what it leads to is in no hash.
 */
export function readOverlay(folder: string): readonly Entry[] {
  const entries = new Tree(folder).entries()
  const odd = entries.filter(({ stats }) => !stats.isDirectory() && !stats.isFile())
  if (odd.length > 0) {
    throw new ImageFault('refused', `${folder} holds what is no plain file: ${odd[0]?.path}`, {
      hint: 'links of an image are made by a step (images/step/root.ts); put the file itself there',
    })
  }
  return entries
}
