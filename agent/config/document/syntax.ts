import type { YAMLError } from 'yaml'
import type { Problem } from '../finding.ts'

/** YAML's errors in our words, by code: the library's own text quotes the document. */
const WORDS: Readonly<Record<string, string>> = {
  BAD_DQ_ESCAPE: 'this escape is not known inside double quotes',
  BAD_INDENT: 'the indentation is wrong',
  BAD_SCALAR_START: 'text that starts with this character needs quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a mapping or list is nested where one line is expected; text with ": " in it needs quotes',
  BLOCK_IN_FLOW: 'an indented block is not allowed between brackets or braces',
  KEY_OVER_1024_CHARS: 'a key is longer than 1,024 characters',
  MISSING_CHAR: 'a character is missing here: a quote, bracket, brace, comma, colon or space',
  MULTILINE_IMPLICIT_KEY: 'a key has to stand on one line; is a colon missing?',
  NON_STRING_KEY: 'a key has to be text',
  TAB_AS_INDENT: 'a TAB is used for indentation; use spaces',
  UNEXPECTED_TOKEN: 'this is not expected here; check brackets, quotes and indentation',
}

/** Returns what is said about an error of the YAML library. */
export function syntaxProblem(error: YAMLError): Problem {
  return { code: 'yaml_syntax', message: `YAML: ${WORDS[error.code] ?? 'this cannot be read'}` }
}

/** YAML 1.2.2 section 5.7, and the line breaks of 7.3.1. */
const ESCAPE =
  /\\(?:[0abefnrtvNLP_ "/\\\t\n]|\r\n|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U(?:000[\da-fA-F]|0010)[\da-fA-F]{4})/g

/** How many escapes of a text in double quotes YAML does not know, nearly: enough to tell few from many. */
export function badEscapes(source: string): number {
  return source.includes('\\') ? source.replace(ESCAPE, '').split('\\').length - 1 : 0
}
