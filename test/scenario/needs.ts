/**
 * What transcripts may ask for by `needs:`. A provider is called once for all transcripts that need it, and closed after the last; what it returns
 * is added to the environment of the commands.
 */
export type Setting = AsyncDisposable & { readonly env: Readonly<Record<string, string>> }
export type Provider = () => Promise<Setting>

export const providers: Readonly<Record<string, Provider>> = {}
