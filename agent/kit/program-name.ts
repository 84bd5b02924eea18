/** What a program on an image is, from its name: one table for the build, which refuses such a root, and for the node, which looks again. Pure. */
import { basename } from 'node:path'

/** `.socket` is no library. */
const LIBRARY = /\.so(\.|$)/

/** Names under which a shell or an interpreter of a language is installed, with or without a version. */
const INTERPRETER =
  /^(ba|da|a|z|k|mk|c|tc|fi|rba)?sh[\d.]*$|^(busybox|toybox|perl|python|ruby|lua|luajit|tclsh|php|node|deno|bun|guile|gawk|mawk|awk|ash|nu|pwsh|dc|ed)[\d.]*$/

/** Names of programs that put other programs on a system. */
const PACKAGE_MANAGER =
  /^(apt|apt-get|apt-cache|aptitude|dpkg|dpkg-deb|rpm|dnf|microdnf|yum|tdnf|zypper|pacman|apk|opkg|xbps-install|emerge|nix|nix-env|guix|snap|flatpak|brew|pip|pipx|npm|npx|yarn|pnpm|corepack|gem|cargo|conda)[\d.]*$/

/** True for the name or path of a shared library. */
export function isLibrary(path: string): boolean {
  return LIBRARY.test(basename(path))
}

/** True for the name or path of a shell or an interpreter of a language. */
export function isInterpreter(path: string): boolean {
  return INTERPRETER.test(basename(path))
}

/** True for the name or path of a package manager. */
export function isPackageManager(path: string): boolean {
  return PACKAGE_MANAGER.test(basename(path))
}
