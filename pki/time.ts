/** Times of certificates (RFC 5280 §4.1.2.5): UTCTime through 2049, GeneralizedTime after it; whole seconds, always Z. */
import { contentOf, primitive, tags } from './der.ts'
import { PkiFault } from './fault.ts'
import type { Der } from './x509-provider.ts'

const FIRST_GENERALIZED_YEAR = 2050

/** Returns the time with fractions of a second cut off. */
export function wholeSeconds(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000)
}

export function encodeTime(time: Date): Der {
  const digits = time.toISOString().slice(0, 19).replace(/[-:T]/g, '')
  const generalized = time.getUTCFullYear() >= FIRST_GENERALIZED_YEAR
  const text = `${generalized ? digits : digits.slice(2)}Z`
  return primitive(generalized ? tags.generalizedTime : tags.utcTime, Buffer.from(text))
}

/** Throws PkiFault `der_invalid` for a time that does not exist, or in a form that RFC 5280 does not allow. */
export function decodeTime(der: Der | undefined): Date {
  const generalized = der?.tag === tags.generalizedTime
  const text = contentOf(der, generalized ? tags.generalizedTime : tags.utcTime).toString('latin1')
  const full = generalized ? text : `${Number(text.slice(0, 2)) >= 50 ? '19' : '20'}${text}`
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) ?? []
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const time = new Date(iso)
  // A day such as 31 February is moved to March by Date; then the text does not come back.
  if (Number.isNaN(time.getTime()) || time.toISOString() !== iso)
    throw new PkiFault('der_invalid', 'a time cannot be read')
  return time
}
