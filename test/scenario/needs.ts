/**
 * What transcripts may ask for by `needs:`. A provider is called once for all transcripts that need it, and closed after the last; what it returns
 * is added to the environment of the commands.
 */
import { raiseDemoCluster } from '../support/demo-cluster.ts'

export type Setting = AsyncDisposable & { readonly env: Readonly<Record<string, string>> }
export type Provider = () => Promise<Setting>

export const providers: Readonly<Record<string, Provider>> = {
  'demo cluster': async () => {
    const demo = await raiseDemoCluster()
    return {
      env: { STELECTL_CONFIG: demo.contexts, NODE_DIRECTORY: demo.worker.place.directory },
      [Symbol.asyncDispose]: async () => demo[Symbol.asyncDispose](),
    }
  },
}
