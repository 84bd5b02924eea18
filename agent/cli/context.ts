/**
 * Contexts: which nodes are meant and who is asking. One file, in YAML, readable by its owner alone, as it holds private keys.
 *
 * Invariants: the file is replaced as a whole or not at all; a file that others may read is refused; no message quotes the file's content.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context, Contexts } from './context-schema.ts'
import { CliFault } from './fault.ts'
import { readInput, writePrivate } from './file.ts'
import { readYaml } from './yaml.ts'

export type { Context, Contexts } from './context-schema.ts'

export const NO_CONTEXTS: Contexts = { version: 1, contexts: {} }

/** `$STELECTL_CONFIG`, else `stele/config.yaml` below `$XDG_CONFIG_HOME`, else below `~/.config`. */
export function defaultConfigPath(env: Readonly<Record<string, string | undefined>>): string {
  const named = env['STELECTL_CONFIG']
  if (named !== undefined && named !== '') return named
  const base = env['XDG_CONFIG_HOME']
  if (base !== undefined && base !== '') return join(base, 'stele', 'config.yaml')
  return join(env['HOME'] ?? '.', '.config', 'stele', 'config.yaml')
}

/**
 * Every context of the file. Throws CliFault `context_file_missing`, `context_file_permissions` (group or others may read or write it) or
 * `context_file_invalid`, with the path of each problem.
 */
export async function loadContexts(path: string): Promise<Contexts> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) {
    throw new CliFault('context_file_missing', `there is no file of contexts at ${path}`, {
      hint: 'make one with stelectl gen config, or name one with --config or $STELECTL_CONFIG',
    })
  }
  if ((found.mode & 0o077) !== 0) {
    throw new CliFault('context_file_permissions', `${path} holds private keys and others may read it`, {
      hint: `chmod 600 ${path}`,
    })
  }
  const { bytes } = await readInput(path)
  return parseContexts(bytes.toString('utf8'), path)
}

/** The contexts of a text. Throws CliFault `context_file_invalid`. */
export async function parseContexts(text: string, label: string): Promise<Contexts> {
  const data = await readYaml(text)
  if (!data.ok) throw invalid(label, [data.error])
  return check(data.value, label)
}

/** The two sets as one; a name of `added` wins. The current context stays, unless there was none. Pure. */
export function mergeContexts(base: Contexts, added: Contexts): Contexts {
  const current = base.current ?? added.current ?? Object.keys(added.contexts)[0]
  return {
    version: 1,
    ...(current === undefined ? {} : { current }),
    contexts: { ...base.contexts, ...added.contexts },
  }
}

/** Adds or replaces one context in the file, which is made if need be. Returns what the file now holds. */
export async function mergeContext(
  path: string,
  name: string,
  context: Context,
  options: { readonly makeCurrent?: boolean } = {},
): Promise<Contexts> {
  const merged = mergeContexts(await loadOrNone(path), { version: 1, contexts: { [name]: context } })
  const result = options.makeCurrent === true ? { ...merged, current: name } : merged
  await saveContexts(path, result)
  return result
}

/** Takes one context out of the file; nothing happens when it is not there. */
export async function removeContext(path: string, name: string): Promise<Contexts> {
  const { current, contexts } = await loadOrNone(path)
  const left = Object.fromEntries(Object.entries(contexts).filter(([known]) => known !== name))
  const result: Contexts = { version: 1, ...(current === name ? {} : { current }), contexts: left }
  await saveContexts(path, result)
  return result
}

/** The contexts with one of them under another name. Throws CliFault `context_unknown` or `context_exists`. Pure. */
export function renameContext(contexts: Contexts, from: string, to: string): Contexts {
  const { context } = chooseContext(contexts, from)
  if (Object.hasOwn(contexts.contexts, to)) {
    throw new CliFault('context_exists', `there is a context ${JSON.stringify(to)} already`, {
      hint: `take it away first with stelectl config remove ${to}`,
    })
  }
  const left = Object.entries(contexts.contexts).filter(([name]) => name !== from)
  const current = contexts.current === from ? to : contexts.current
  return {
    version: 1,
    ...(current === undefined ? {} : { current }),
    contexts: { ...Object.fromEntries(left), [to]: context },
  }
}

/** The file's contexts, or none when there is no file. Throws like `loadContexts` otherwise. */
export async function loadOrNone(path: string): Promise<Contexts> {
  try {
    return await loadContexts(path)
  } catch (error) {
    if (error instanceof CliFault && error.code === 'context_file_missing') return NO_CONTEXTS
    throw error
  }
}

/** Replaces the file. Throws CliFault `context_file_invalid` before anything is written when a context is malformed. */
export async function saveContexts(path: string, contexts: Contexts): Promise<void> {
  const checked = await check(contexts, path)
  const { stringify } = await import('yaml')
  await writePrivate(path, stringify(checked, { lineWidth: 0 }))
}

/** The context that is asked for, or the current one. Throws CliFault `context_unknown` or `context_missing`. Pure. */
export function chooseContext(
  contexts: Contexts,
  wanted: string | undefined,
): { readonly name: string; readonly context: Context } {
  const known = Object.keys(contexts.contexts).sort()
  const chosen = wanted ?? contexts.current
  const list = known.length === 0 ? 'the file has no contexts' : `known contexts: ${known.join(', ')}`
  if (chosen === undefined) {
    throw new CliFault('context_missing', 'no context is current', {
      hint: `${list}; choose one with stelectl config use NAME or --context NAME`,
    })
  }
  const context = Object.hasOwn(contexts.contexts, chosen) ? contexts.contexts[chosen] : undefined
  if (context === undefined) {
    throw new CliFault('context_unknown', `there is no context ${JSON.stringify(chosen)}`, { hint: list })
  }
  return { name: chosen, context }
}

// The schema is loaded only when a file is read: help and most of completion do without.
async function check(value: unknown, label: string): Promise<Contexts> {
  const { checkContexts } = await import('./context-schema.ts')
  const checked = checkContexts(value)
  if (!checked.ok) throw invalid(label, checked.error)
  return checked.value
}

function invalid(label: string, reasons: readonly string[]): CliFault {
  return new CliFault('context_file_invalid', `${label} is no file of contexts\n${reasons.join('\n')}`, {
    hint: 'make one with stelectl gen config',
  })
}
