/**
 * The documents that say what an image is: a profile (layout, kernel arguments, outputs, budgets) and the contents that it names (packages,
 * executables). Both are strict: an unknown key is an error.
 *
 * Invariant: everything that decides what ends in an image is in these documents, in `root/` or in a step, so that a change is a diff.
 */
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { ImageFault } from './fault.ts'
import { readPlainFile } from './plain-file.ts'

const word = z.string().regex(/^[a-z0-9][a-z0-9.+:-]*$/)
/** Below the root that is made: `..` would lead to files of the host, which the build, as root, would remove or write. */
const path = z
  .string()
  .regex(/^[^/\s][^\s]*$/, 'must be a path without a leading slash')
  .refine((text) => !text.split('/').includes('..'), 'must not lead out of the root by ..')
/** The name of a file in a folder that the build knows, or a pattern of such names. */
const fileName = z
  .string()
  .regex(/^[^/\s]+$/, 'must be a name without a slash')
  .refine((text) => text !== '.' && text !== '..', 'must be the name of a file')
const bytes = z.number().int().positive()
/** Until the year 2106, which every format in an image can write. */
const seconds = z.number().int().positive().max(0xffff_ffff)
const count = z.number().int().nonnegative()

/** What a build can end in: a disk in two formats, or a kernel that is a program beside the root. */
export const output = z.enum(['raw', 'qcow2', 'uml'])
const isDisk = (each: Output) => each !== 'uml'

const profileSchema = z
  .strictObject({
    apiVersion: z.literal('images.stele.dev/v1alpha1'),
    kind: z.literal('ImageProfile'),
    name: word,
    contents: word,
    suite: word,
    /** Seconds since 1970: the time of every file in the image, and the floor of the node's clock. */
    epoch: seconds,
    /** Seed of every UUID on the disk. */
    seed: z.uuid(),
    compression: z.strictObject({
      algorithm: z.enum(['lz4hc', 'zstd']),
      level: z.number().int().min(1).max(22),
    }),
    /** Of the disk; without one there are none. */
    partitions: z.strictObject({ espMiB: bytes, rootMiB: bytes, verityMiB: bytes }).optional(),
    commandLine: z.array(z.string().regex(/^\S+$/)).min(1),
    outputs: z.array(output).min(1),
    budgets: z.strictObject({
      rootBytes: bytes,
      ukiBytes: bytes,
      executables: count,
      interpreters: z.array(path),
      setuidFiles: count,
      ports: z.array(z.number().int().min(1).max(65_535)),
    }),
  })
  .refine((profile) => profile.partitions !== undefined || !profile.outputs.some(isDisk), {
    path: ['partitions'],
    message: 'a disk needs them',
  })
  .refine((profile) => profile.outputs.every(isDisk) || !profile.outputs.some(isDisk), {
    path: ['outputs'],
    message: 'a disk and a kernel that is a program have different kernel arguments: write two profiles',
  })

const contentsSchema = z.strictObject({
  apiVersion: z.literal('images.stele.dev/v1alpha1'),
  kind: z.literal('ImageContents'),
  packages: z.array(word).min(1),
  processes: z.array(z.enum(['core', 'gateway', 'trust'])),
  executables: z.array(path).min(1),
  libraries: z.array(fileName),
  remove: z.array(path),
  udevRules: z.array(fileName.endsWith('.rules')),
  enable: z.array(z.strictObject({ unit: fileName, target: fileName })),
  disable: z.array(fileName),
  initrd: z.strictObject({
    executables: z.array(path),
    libraries: z.array(fileName),
    units: z.array(fileName),
    modules: z.array(fileName),
    udevRules: z.array(fileName.endsWith('.rules')),
  }),
})

export type Output = z.infer<typeof output>
export type Profile = Readonly<z.infer<typeof profileSchema>>
export type Contents = Readonly<z.infer<typeof contentsSchema>>

/** Parses a profile. Throws ImageFault `profile_invalid`, with the path in the document. */
export function parseProfile(text: string, origin: string): Profile {
  return parse(profileSchema, text, origin)
}

/** Parses a contents document. Throws ImageFault `profile_invalid`, with the path in the document. */
export function parseContents(text: string, origin: string): Contents {
  return parse(contentsSchema, text, origin)
}

/** Parses SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch/), in seconds since 1970. Throws ImageFault `profile_invalid`. */
export function parseEpoch(text: string): number {
  const result = seconds.safeParse(/^\d+$/.test(text) ? Number(text) : undefined)
  if (result.success) return result.data
  throw new ImageFault('profile_invalid', 'SOURCE_DATE_EPOCH must be a whole number of seconds since 1970', {
    hint: 'unset it, or set it to a number from 1 to 4294967295, as `git log -1 --format=%ct` prints',
  })
}

/** Reads a profile by its name or by the path of its file, and the contents it names. */
export function readProfile(
  nameOrPath: string,
  folder: string,
): { readonly profile: Profile; readonly contents: Contents } {
  const profiles = join(folder, 'profiles')
  const file = nameOrPath.includes('/') ? nameOrPath : join(profiles, `${nameOrPath}.yaml`)
  if (!existsSync(file)) {
    const names = readdirSync(profiles).map((name) => basename(name, '.yaml'))
    throw new ImageFault('profile_invalid', `there is no profile ${nameOrPath}`, {
      hint: `name one of ${names.sort().join(', ')}, or a file by a path with a slash, as in ./mine.yaml`,
    })
  }
  const profile = parseProfile(read(file), file)
  const contentsFile = join(folder, 'contents', `${profile.contents}.yaml`)
  return { profile, contents: parseContents(read(contentsFile), contentsFile) }
}

function read(file: string): string {
  try {
    return readPlainFile(file).toString('utf8')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ImageFault('profile_invalid', `cannot read ${file}: ${reason}`, { cause })
  }
}

function parse<T extends z.ZodType>(schema: T, text: string, origin: string): z.output<T> {
  const document = parseDocument(text, { uniqueKeys: true, strict: true })
  const [problem] = document.errors
  if (problem) throw new ImageFault('profile_invalid', `${origin}: ${problem.message}`)
  const result = schema.safeParse(plainValue(document, origin))
  if (result.success) return result.data
  const lines = result.error.issues.map(
    (issue) => `${issue.path.join('.') || '(document)'}: ${issue.message}`,
  )
  throw new ImageFault('profile_invalid', `${origin}: ${lines.join('; ')}`)
}

/** An alias may stand for a value that grows with each use, and a profile needs none. */
function plainValue(document: ReturnType<typeof parseDocument>, origin: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 })
  } catch (cause) {
    throw new ImageFault('profile_invalid', `${origin}: aliases are not allowed`, { cause })
  }
}
