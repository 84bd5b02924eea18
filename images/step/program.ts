/**
 * Which files of a root are programs, and which of them can run the commands of a stranger. Stricter than what a node looks for in itself: a build that is
 * refused for nothing costs a line in the budget, a shell that is not seen costs the image.
 */
import { closeSync, lstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { isInterpreter, isPackageManager } from '#kit/program-name'
import type { Entry, Tree } from '../tree.ts'

/** Programs that run commands or code which they are given, beyond the names that `#kit/program-name` knows. */
const MORE_INTERPRETERS = new Set(
  (
    'ksh93 oksh loksh pdksh ksh2020 yash posh rc es elvish xonsh sash osh oil ysh ion murex hush bosh heirloom-sh rsh ' +
    'nodejs qjs quickjs mujs duktape d8 js gjs tsx ts-node pypy ipython bpython jython jruby irb pry erb mruby ' +
    'original-awk bwawk nawk goawk tcl wish expect jimsh guile scheme gsi csi racket sbcl clisp ecl emacs janet ' +
    'java jshell kotlin scala groovy erl elixir iex escript ghci runghc ocaml utop julia octave swipl gprolog rscript ' +
    'gdb gdbserver lldb socat nc ncat netcat vi vim vimdiff nvim nano view ex m4 bc sqlite3 screen tmux script'
  ).split(' '),
)
/** What packagers put behind the name of a program: how it was built, and its version. */
const SUFFIX =
  /(?:[-_.](?:static|dbg|debug|minimal|tiny|basic|nox|gtk3?|full|real|bin|dist|orig|posix|traditional|openbsd|(?:x86_64|aarch64|i[3-6]86)-linux-(?:gnu|musl))|[-_]?\d[\d.]*[a-z]?)$/
/** ELF, 32 bits included: a kernel for amd64 runs these too. */
const ELF = '\x7fELF'

/** True for a shell, an interpreter or a package manager under its own name, with a version, or as a variant (`bash-static`, `python3-dbg`). */
export function runsCommands(path: string): boolean {
  for (let name = basename(path).toLowerCase(); ;) {
    if (isInterpreter(name) || isPackageManager(name) || MORE_INTERPRETERS.has(name)) return true
    const shorter = name.replace(SUFFIX, '')
    if (shorter === name || shorter === '') return false
    name = shorter
  }
}

/** `script` starts with `#!` and may be run; `executable` is an ELF file that may be. Undefined for a library and for data. */
export function programKind(tree: Tree, { path, stats }: Entry): 'script' | 'executable' | undefined {
  if (!stats.isFile() || (stats.mode & 0o111) === 0) return undefined
  const start = startOf(tree.at(path))
  if (start.startsWith('#!')) return 'script'
  return start === ELF && !/\.so(\.\d+)*$/.test(basename(path)) ? 'executable' : undefined
}

/**
 * Paths that run commands: below `bin` and `sbin` by the name alone, since a link leads anywhere and names what the program does; elsewhere what is, or leads
 * to, an ELF file or a script that may be run.
 */
export function findInterpreters(tree: Tree, entries: readonly Entry[]): readonly string[] {
  return entries
    .filter((entry) => !entry.stats.isDirectory() && runsCommands(entry.path))
    .filter((entry) => /(^|\/)s?bin\/[^/]+$/.test(entry.path) || leadsToProgram(tree, entry))
    .map(({ path }) => path)
}

/** An ELF program is one without the bit too: the loader starts it when it is asked to. */
function leadsToProgram(tree: Tree, entry: Entry): boolean {
  const path = entry.stats.isSymbolicLink() ? tree.resolve(entry.path) : entry.path
  if (path === undefined) return false
  const stats = lstatSync(tree.at(path))
  return programKind(tree, { path, stats }) !== undefined || tree.elf(path)?.isExecutable === true
}

function startOf(file: string): string {
  const bytes = Buffer.alloc(4)
  const handle = openSync(file, 'r')
  try {
    return bytes.toString('latin1', 0, readSync(handle, bytes, 0, 4, 0))
  } finally {
    closeSync(handle)
  }
}
