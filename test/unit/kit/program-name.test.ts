import { describe, expect, it } from 'vitest'
import { isInterpreter, isLibrary, isPackageManager } from '../../../agent/kit/program-name.ts'

describe('the name of a program', () => {
  it.each([
    'sh',
    'bash',
    'dash',
    'zsh',
    'ksh',
    'ash',
    'busybox',
    'csh',
    'tcsh',
    'fish',
    'python3.13',
    'perl',
    'node',
  ])('tells that %s interprets what it is given', (name) =>
    expect(isInterpreter(`usr/bin/${name}`)).toBe(true),
  )

  it.each(['apt', 'apt-get', 'dpkg', 'rpm', 'dnf', 'yum', 'pacman', 'apk', 'snap', 'pip', 'pip3', 'npm'])(
    'tells that %s brings programs in',
    (name) => expect(isPackageManager(`usr/bin/${name}`)).toBe(true),
  )

  it.each([
    'nft',
    'dmsetup',
    'mount',
    'systemd',
    'containerd-shim-runc-v2',
    'fsck',
    'iocost',
    'fido_id',
    'bridge',
  ])('does not take %s for either', (name) => {
    expect(isInterpreter(name)).toBe(false)
    expect(isPackageManager(name)).toBe(false)
  })

  it('tells a library from a socket unit', () => {
    expect(isLibrary('usr/lib/libc.so.6')).toBe(true)
    expect(isLibrary('usr/lib/libudev.so')).toBe(true)
    expect(isLibrary('usr/lib/systemd/system/a.socket')).toBe(false)
  })
})
