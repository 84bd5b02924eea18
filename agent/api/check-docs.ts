/**
 * Fails when two elements of the API carry the same comment: a copied comment is one that nobody wrote for its element. Only fields of the same
 * name may share one, as the same field recurs in several messages.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

type Named = { readonly name: string }
type Message = Named & { readonly field?: readonly Named[]; readonly nestedType?: readonly Message[] }
type Enumeration = Named & { readonly value?: readonly Named[] }
type Service = Named & { readonly method?: readonly Named[] }
type Location = { readonly path?: readonly number[]; readonly leadingComments?: string }
type File = Named & {
  readonly package: string
  readonly messageType?: readonly Message[]
  readonly enumType?: readonly Enumeration[]
  readonly service?: readonly Service[]
  readonly sourceCodeInfo?: { readonly location?: readonly Location[] }
}
type Element = { readonly kind: string; readonly fullName: string; readonly name: string }

const here = import.meta.dirname

/** Field numbers of `FileDescriptorProto` and its parts, from google/protobuf/descriptor.proto. */
function outerAt(file: File, kind: number, index: number): Named | undefined {
  const kinds: Readonly<Record<number, readonly Named[] | undefined>> = {
    4: file.messageType,
    5: file.enumType,
    6: file.service,
  }
  return kinds[kind]?.[index]
}

function elementAt(file: File, path: readonly number[]): Element | undefined {
  const [kind = 0, index = 0, innerKind, innerIndex = 0, ...rest] = path
  const outer = outerAt(file, kind, index)
  if (outer === undefined || rest.length > 0) return undefined
  if (innerKind === undefined)
    return { kind: 'type', fullName: `${file.package}.${outer.name}`, name: outer.name }
  const inner = innerOf(outer)[innerIndex]
  if (innerKind !== 2 || inner === undefined) return undefined
  return {
    kind: kind === 4 ? 'field' : 'member',
    fullName: `${file.package}.${outer.name}.${inner.name}`,
    name: inner.name,
  }
}

function innerOf(outer: Message & Enumeration & Service): readonly Named[] {
  return outer.field ?? outer.value ?? outer.method ?? []
}

function commentsOf(file: File): readonly (readonly [string, Element])[] {
  const locations = file.sourceCodeInfo?.location ?? []
  return locations.flatMap(({ leadingComments = '', path = [] }) => {
    const element = elementAt(file, path)
    const comment = leadingComments.trim()
    return element === undefined || comment === '' ? [] : [[comment, element] as const]
  })
}

function mayShare(one: Element, other: Element): boolean {
  return one.kind === 'field' && other.kind === 'field' && one.name === other.name
}

function findDuplicates(files: readonly File[]): string[] {
  const seen = new Map<string, Element>()
  const problems: string[] = []
  for (const [comment, element] of files
    .filter((file) => file.package.startsWith('stele.'))
    .flatMap(commentsOf)) {
    const other = seen.get(comment)
    if (other === undefined) seen.set(comment, element)
    else if (!mayShare(other, element))
      problems.push(`${element.fullName} repeats the comment of ${other.fullName}`)
  }
  return problems
}

const image = execFileSync(join(here, '../../node_modules/.bin/buf'), ['build', '-o', '-#format=json'], {
  cwd: here,
  maxBuffer: 32 * 1024 * 1024,
})
// The shape is buf's JSON form of google.protobuf.FileDescriptorSet.
const problems = findDuplicates(
  (JSON.parse(image.toString('utf8')) as { readonly file: readonly File[] }).file,
)
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
