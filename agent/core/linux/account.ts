/** Users of the host, from /etc/passwd (passwd(5)): the image has no other source of them. Pure. */

export type Account = { readonly name: string; readonly uid: number; readonly gid: number }

/** Returns the users that `passwd` lists; lines of another form are passed over. */
export function accountsIn(passwd: string): readonly Account[] {
  return passwd.split('\n').flatMap((line) => {
    const [, name, uid, gid] = /^([^:]+):[^:]*:(\d{1,10}):(\d{1,10}):/.exec(line) ?? []
    return name === undefined ? [] : [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}

/** Returns the group of a user: its own of the list, or the number of the user, which is what systemd-sysusers gives. */
export function groupOf(accounts: readonly Account[], uid: number): number {
  return accounts.find((account) => account.uid === uid)?.gid ?? uid
}
