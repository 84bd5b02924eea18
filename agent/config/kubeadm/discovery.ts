/** What makes a discovery complete: kubeadm would refuse the rest on the node, after the machine was made (kubeadm, app/apis/kubeadm/validation). */
import type { Problem } from '../finding.ts'

type Discovery = {
  readonly bootstrapToken?:
    | {
        readonly apiServerEndpoint?: string | undefined
        readonly caCertHashes?: readonly string[] | undefined
        readonly unsafeSkipCAVerification?: boolean | undefined
      }
    | undefined
  readonly file?: object | undefined
}

/** Returns what is missing or too much. No CA to verify the API server by is a refusal, unless the document says so in as many words. */
export function discoveryProblem({ bootstrapToken, file }: Discovery): Problem | undefined {
  const problem = (message: string) => ({ code: 'discovery_incomplete', message })
  if ((bootstrapToken === undefined) === (file === undefined)) {
    return problem('needs exactly one of bootstrapToken and file')
  }
  if (bootstrapToken === undefined) return undefined
  if (bootstrapToken.apiServerEndpoint === undefined) return problem('bootstrapToken needs apiServerEndpoint')
  const isPinned = (bootstrapToken.caCertHashes ?? []).length > 0
  if (isPinned || bootstrapToken.unsafeSkipCAVerification === true) return undefined
  return problem('bootstrapToken needs caCertHashes: without them the API server would not be verified')
}
