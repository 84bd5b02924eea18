import { describe, expect, it } from 'vitest'
import { accountsIn, groupOf } from '../../../../agent/core/linux/account.ts'
import { bootFrom } from '../../../../agent/core/linux/boot.ts'
import { chooseName, nameInMetaData } from '../../../../agent/core/linux/name.ts'

describe('chooseName', () => {
  it('takes the first that is a host name, in lower case', () => {
    expect(chooseName(['', undefined, 'localhost', 'CP-1.example.org', 'other'], 'seed')).toBe(
      'cp-1.example.org',
    )
    expect(chooseName(['-x', 'a b', 'x\u001b[2J', 'a'.repeat(64), 'ok'], 'seed')).toBe('ok')
  })

  it('makes one up, always the same for a machine, when there is none', () => {
    const name = chooseName(['(none)'], 'uuid-1')
    expect(name).toMatch(/^node-[0-9a-f]{10}$/)
    expect(chooseName([], 'uuid-1')).toBe(name)
    expect(chooseName([], 'uuid-2')).not.toBe(name)
  })
})

describe('nameInMetaData', () => {
  it('reads the names that NoCloud uses', () => {
    expect(nameInMetaData('instance-id: i-1\nlocal-hostname: cp-1\nhostname: x\n')).toBe('cp-1')
    expect(nameInMetaData('{"hostname": "w-1"}')).toBe('w-1')
  })

  it.each(['', 'instance-id: test\n', '- a', 'local-hostname: [a]', 'a: &x [*x]\nb: *x', ': :\n\t{'])(
    'finds none in %j',
    (text) => expect(nameInMetaData(text)).toBeUndefined(),
  )
})

describe('accountsIn', () => {
  it('reads users and their groups', () => {
    const accounts = accountsIn('root:x:0:0:Root:/root:/x\nstele-gateway:!:911:915::/:/x\nbroken\n')
    expect(accounts.map(({ name, uid }) => [name, uid])).toEqual([
      ['root', 0],
      ['stele-gateway', 911],
    ])
    expect(groupOf(accounts, 911)).toBe(915)
    expect(groupOf(accounts, 912)).toBe(912)
  })
})

describe('bootFrom', () => {
  it('reads what the kernel tells, and refuses what it would not', () => {
    const id = '3b241101-e2bb-4255-8caf-4136c566a962'
    expect(bootFrom(`${id}\n`, 'cpu 1 2\nbtime 1767225600\nprocesses 3\n')).toEqual({
      bootId: id,
      bootedAt: new Date('2026-01-01T00:00:00Z'),
    })
    expect(() => bootFrom('', 'btime 1\n')).toThrow(expect.objectContaining({ code: 'host_unreadable' }))
    expect(() => bootFrom(id, 'cpu 1\n')).toThrow(expect.objectContaining({ code: 'host_unreadable' }))
  })
})
