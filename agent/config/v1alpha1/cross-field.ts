/** What one field demands of another. All of it fails closed: no credential without the means to verify who gets it. */
import type { Path, Problem } from '../finding.ts'
import { contentProblem, WRITING_SUFFIX } from './file.ts'
import { keyBelongsTo, readCertificates } from './pem.ts'
import type { NodeConfigDocument } from './schema.ts'

export type Role = 'control-plane' | 'worker' | 'undecided'

export type PlacedProblem = { readonly path: Path; readonly problem: Problem }

/** Returns every broken demand of a NodeConfig whose fields are valid one by one. */
export function crossFieldProblems(node: NodeConfigDocument, role: Role): readonly PlacedProblem[] {
  return [
    ...credentialProblems(node),
    ...authorityProblems(node, role),
    ...fileProblems(node),
    ...linkProblems(node),
  ]
}

type Trust = NonNullable<NodeConfigDocument['trust']>

function credentialProblems(node: NodeConfigDocument): readonly PlacedProblem[] {
  const trust: Trust = node.trust ?? {}
  if ((trust.username === undefined) !== (trust.password === undefined)) {
    const message = 'username and password come together: one of them is missing'
    return [{ path: ['trust'], problem: { code: 'credential_incomplete', message } }]
  }
  if (trust.username === undefined) return []
  const found: PlacedProblem[] = []
  if (trust.ca === undefined) {
    found.push({
      path: ['trust'],
      problem: {
        code: 'trust_ca_missing',
        message:
          'a join credential needs trust.ca: without it the credential would go to a server nobody verified',
        hint: 'put the certificate of the node authority into trust.ca',
      },
    })
  }
  if (trust.caKey === undefined && (trust.endpoints ?? []).length === 0) {
    found.push({
      path: ['trust'],
      problem: {
        code: 'trust_endpoints_missing',
        message: 'a join credential needs trust.endpoints, or trust.caKey on a control plane',
      },
    })
  }
  return found
}

function authorityProblems(node: NodeConfigDocument, role: Role): readonly PlacedProblem[] {
  const { ca, caKey, caPins = [] } = node.trust ?? {}
  const keyProblem = caKey === undefined ? undefined : caKeyProblem(caKey, ca, role)
  if (keyProblem !== undefined) return [{ path: ['trust', 'caKey'], problem: keyProblem }]
  if (caPins.length === 0 || ca !== undefined) return []
  const message = 'pins choose among the certificates of trust.ca, which is missing'
  return [{ path: ['trust', 'caPins'], problem: { code: 'trust_ca_missing', message } }]
}

/** Both texts are valid by themselves: these checks run on what the schema has passed. */
function caKeyProblem(caKey: string, ca: string | undefined, role: Role): Problem | undefined {
  if (role === 'worker') {
    return { code: 'ca_key_on_worker', message: 'a worker must not hold the key of an authority' }
  }
  if (ca === undefined) return { code: 'trust_ca_missing', message: 'needs its certificate in trust.ca' }
  if (keyBelongsTo(caKey, readCertificates(ca) ?? [])) return undefined
  return { code: 'ca_key_mismatch', message: 'belongs to none of the certificates of trust.ca' }
}

function fileProblems(node: NodeConfigDocument): readonly PlacedProblem[] {
  const files = node.files ?? []
  const all = new Set(files.map((file) => file.path))
  const seen = new Set<string>()
  return files.flatMap((file, index): PlacedProblem[] => {
    const found: PlacedProblem[] = []
    if (seen.has(file.path)) {
      const problem = { code: 'duplicate_path', message: 'is written by another entry of files, too' }
      found.push({ path: ['files', index, 'path'], problem })
    }
    seen.add(file.path)
    const conflict = pathConflict(file.path, all)
    if (conflict !== undefined) found.push({ path: ['files', index, 'path'], problem: conflict })
    const problem = contentProblem(file)
    if (problem !== undefined) found.push({ path: ['files', index, 'content'], problem })
    return found
  })
}

function pathConflict(path: string, all: ReadonlySet<string>): Problem | undefined {
  const code = 'path_conflict'
  if (foldersOf(path).some((folder) => all.has(folder))) {
    return { code, message: 'is below the path of another entry of files, which is a file and no folder' }
  }
  if (!path.endsWith(WRITING_SUFFIX) || !all.has(path.slice(0, -WRITING_SUFFIX.length))) return undefined
  return { code, message: 'is the name under which another entry of files is written at first' }
}

/** `/a/b/c` → `/a`, `/a/b`. */
function foldersOf(path: string): readonly string[] {
  const parts = path.split('/')
  return parts.slice(2).map((_part, index) => parts.slice(0, index + 2).join('/'))
}

function linkProblems(node: NodeConfigDocument): readonly PlacedProblem[] {
  const names = (node.network?.links ?? []).map((link) => link.name)
  return names.flatMap((name, index) => {
    if (names.indexOf(name) === index) return []
    const problem = { code: 'duplicate_name', message: 'is the name of another link, too' }
    return [{ path: ['network', 'links', index, 'name'], problem }]
  })
}
