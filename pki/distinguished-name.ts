/** Subjects: what is read of them, and how ours are written (UTF8String, one attribute a set: RFC 5280 §4.1.2.4). */
import { childrenOf, constructed, expectEnd, oid, oidOf, sequence, tags, textOf, utf8 } from './der.ts'
import { PkiFault } from './fault.ts'
import type { Der } from './x509-provider.ts'

export type Subject = { readonly commonName?: string; readonly organizations: readonly string[] }

const COMMON_NAME = '2.5.4.3'
const ORGANIZATION = '2.5.4.10'
/** Upper bound ub-common-name of RFC 5280, appendix A. */
export const MAX_COMMON_NAME = 64

export function encodeSubject(subject: Subject): Der {
  const organizations = subject.organizations.map((text) => attribute(ORGANIZATION, text))
  const commonName = subject.commonName === undefined ? [] : [attribute(COMMON_NAME, subject.commonName)]
  return sequence(...organizations, ...commonName)
}

/** Returns common name and organizations; other attributes are not looked at. Refuses two common names and sets of several attributes. */
export function decodeSubject(name: Der | undefined): Subject {
  const attributes = childrenOf(name, tags.sequence).map((set) => {
    const members = childrenOf(set, tags.set)
    const pair = childrenOf(members[0], tags.sequence)
    expectEnd(members, 1)
    expectEnd(pair, 2)
    return { type: oidOf(pair[0]), value: pair[1] }
  })
  const commonNames = attributes.filter(({ type }) => type === COMMON_NAME).map(({ value }) => textOf(value))
  const organizations = attributes
    .filter(({ type }) => type === ORGANIZATION)
    .map(({ value }) => textOf(value))
  const [commonName, second] = commonNames
  if (second !== undefined) throw new PkiFault('der_invalid', 'the subject has two common names')
  return commonName === undefined ? { organizations } : { commonName, organizations }
}

/** Whether a text may stand in a subject that we write: 1 to 64 characters, none of them a control character. */
export function isSubjectText(text: string): boolean {
  return text.length > 0 && [...text].length <= MAX_COMMON_NAME && !/[\p{Cc}\p{Cs}]/u.test(text)
}

function attribute(type: string, text: string): Der {
  return constructed(tags.set, [sequence(oid(type), utf8(text))])
}
