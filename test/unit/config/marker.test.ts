import { describe, expect, it } from 'vitest'
import { decodeUserData, formatFinding, parseNodeConfiguration, redactText } from '#config'
import { brokenDocuments, brokenUserData, MARKER } from '../../support/broken-documents.ts'

describe('a value of a document', () => {
  it.each(brokenDocuments())('never comes out of the parser: $where', ({ text }) => {
    const parsed = parseNodeConfiguration(text, { file: 'user-data' })
    if (parsed.ok) {
      // A field of free text: what may hold a secret has to be masked where it is shown.
      const shown = redactText(text)
      expect(JSON.stringify(shown)).not.toContain(MARKER)
      return
    }
    expect(parsed.error.length).toBeGreaterThan(0)
    expect(parsed.error.map(formatFinding).join('\n') + JSON.stringify(parsed.error)).not.toContain(MARKER)
  })

  it.each(brokenUserData())('never comes out of the decoder: $where', ({ text }) => {
    const decoded = decodeUserData(Buffer.from(text))
    if (!decoded.ok) expect(`${decoded.error.message} ${decoded.error.hint ?? ''}`).not.toContain(MARKER)
  })
})
