/** Names and hosts in a NodeConfig. */
import { isIP } from 'node:net'
import type { Rule } from '../document/field.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** A node's own name, given by a person, so it is refused and never bent: RFC 1123, lower case, and the kernel's 64 bytes. */
export const hostnameRule: Rule = (value) => {
  const problem = (message: string) => ({ code: 'hostname_form', message })
  if (value === 'localhost' || value.startsWith('localhost.')) return problem('cannot be localhost')
  if (value.length > 64) return problem('has to be at most 64 characters')
  if (/^[\d.]+$/.test(value)) return problem('cannot be digits and dots alone')
  if (value.split('.').every((label) => LABEL.test(label))) return undefined
  return problem(
    'has to be a DNS name: lower-case letters, digits and hyphens, at most 63 characters between dots, no dot at the end',
  )
}

/** A DNS name or an IP address, without port; for certificates, no wildcard. */
export const hostRule: Rule = (value) => {
  if (isIP(value) !== 0 && !value.includes('%')) return undefined
  if (value.length <= 253 && value.split('.').every((label) => LABEL.test(label))) return undefined
  return {
    code: 'host_form',
    message: 'has to be a DNS name in lower case or an IP address, without port or wildcard',
  }
}

/** Kubernetes: an optional DNS prefix and a slash, then 63 characters. */
export const qualifiedNameRule: Rule = (value) =>
  /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(value)
    ? undefined
    : { code: 'name_form', message: 'has to be a Kubernetes name such as example.test/zone' }

export const labelValueRule: Rule = (value) =>
  value === '' || /^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(value)
    ? undefined
    : {
        code: 'label_value_form',
        message: 'has to be at most 63 letters, digits, dots, hyphens and underscores',
      }

/** Labels that only Kubernetes' own components may set on a node: kubelet refuses to start with them (NodeRestriction). */
export const nodeLabelNameRule: Rule = (value) => {
  const problem = qualifiedNameRule(value)
  if (problem !== undefined) return problem
  const prefix = value.includes('/') ? (value.split('/')[0] ?? '') : ''
  const isReserved = /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(prefix)
  const isOpen = /(?:^|\.)(?:node|kubelet)\.kubernetes\.io$|^topology\.kubernetes\.io$/.test(prefix)
  if (!isReserved || isOpen) return undefined
  return { code: 'label_reserved', message: 'is reserved: a kubelet may not set it on its own node' }
}

/** An http or https URL without credentials, query or fragment. */
export const urlRule: Rule = (value) => {
  const problem = {
    code: 'url_form',
    message: 'has to be an http or https URL without credentials, query or fragment',
  }
  if (!URL.canParse(value)) return problem
  const url = new URL(value)
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  return isPlain && /^https?:$/.test(url.protocol) ? undefined : problem
}
