import { z } from 'zod'
import type { JsonFile } from '../store/json-file.ts'

export const bootRecordSchema = z.strictObject({
  bootId: z.string(),
  /** Digest of the user data that became revision 1; a later boot that finds other user data says so. */
  userDataDigest: z.string().exactOptional(),
})
type Content = z.infer<typeof bootRecordSchema>

/** What core remembers of boots: which one it saw last. */
export class BootRecord {
  readonly #file: JsonFile<Content>
  #content: Content

  constructor(file: JsonFile<Content>) {
    this.#file = file
    const stored = file.read()
    this.#content = 'value' in stored ? stored.value : { bootId: '' }
  }

  get userDataDigest(): string | undefined {
    return this.#content.userDataDigest
  }

  /** Returns whether this is another boot than core saw last. */
  isNew(bootId: string): boolean {
    return this.#content.bootId !== bootId
  }

  setBoot(bootId: string): void {
    this.#write({ ...this.#content, bootId })
  }

  setUserDataDigest(digest: string): void {
    this.#write({ ...this.#content, userDataDigest: digest })
  }

  #write(content: Content): void {
    this.#file.write(content)
    this.#content = content
  }
}
