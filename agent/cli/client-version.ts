import manifest from '../../package.json' with { type: 'json' }

/** Version of stelectl: the package's. */
export function clientVersion(): string {
  return manifest.version
}
