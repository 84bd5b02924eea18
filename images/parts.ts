/** What is compiled into a component and is no file of its own there: modules of Go, packages of npm. Pure: text in, values out. */
import { z } from 'zod'

export const part = z.strictObject({
  name: z.string(),
  version: z.string(),
  origin: z.enum(['go', 'npm']),
  /** As the package declares it: an expression of SPDX (annex D), or words. */
  license: z.string().exactOptional(),
})
export type Part = z.infer<typeof part>

/**
 * Returns the modules in the programs that `owns` takes, by what `go version -m` printed about programs, each once and sorted, with Go's own library as
 * `stdlib`. A module that was replaced is the one that replaced it.
 */
export function goParts(text: string, owns: (file: string) => boolean): readonly Part[] {
  // A program's name begins a line; what is told of it is indented.
  const programs = text.split(/\n(?!\t)/)
  return distinct(programs.flatMap((told) => (owns(told.split(':', 1)[0] ?? '') ? modulesOf(told) : [])))
}

function modulesOf(told: string): readonly Part[] {
  const parts: Part[] = []
  const go = /^[^\n]*: go(\S+)/.exec(told)?.[1]
  if (go !== undefined) parts.push({ name: 'stdlib', version: go, origin: 'go' })
  for (const [, word, name = '', version = ''] of told.matchAll(/^\t(dep|=>)\t(\S+)\t(\S+)/gm)) {
    if (word === '=>') parts.pop()
    parts.push({ name, version, origin: 'go' })
  }
  return parts
}

/** Returns the folders of the packages that these files are in, such as `node_modules/a/node_modules/@b/c`, each once and sorted. */
export function packageFolders(files: readonly string[]): readonly string[] {
  const folders = files.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [])
  return [...new Set(folders)].sort()
}

/** The same parts, each once, sorted by origin, name and version. */
export function distinct(parts: readonly Part[]): readonly Part[] {
  const keyed = new Map(parts.map((each) => [`${each.origin} ${each.name} ${each.version}`, each]))
  return [...keyed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each)
}
