/** The kernel command line, and what of it is meant for core. Pure. */

/**
 * Returns the values of each argument `name=value`, in order. Double quotes hold blanks together, as the kernel reads them
 * (Documentation/admin-guide/kernel-parameters); an argument without a value is not returned.
 */
export function kernelArguments(commandLine: string, name: string): readonly string[] {
  const words = commandLine.match(/(?:"[^"]*"|[^\s"])+/g) ?? []
  const prefix = `${name}=`
  return words
    .map((word) => word.replaceAll('"', ''))
    .filter((word) => word.startsWith(prefix) && word.length > prefix.length)
    .map((word) => word.slice(prefix.length))
}

export type NoCloudHints = { readonly seedFrom: string | undefined; readonly hostname: string | undefined }

/**
 * Returns what a NoCloud data source string tells, `ds=nocloud;s=URL;h=NAME`, as cloud-init takes it from the serial number of the machine (SMBIOS
 * type 1) or from the kernel command line; undefined when `text` is none.
 */
export function noCloudHints(text: string): NoCloudHints | undefined {
  const [kind = '', ...fields] = text.trim().split(';')
  if (!/^ds=nocloud(-net)?$/.test(kind)) return undefined
  const value = (...names: string[]) =>
    fields
      .map((field) => field.split(/=(.*)/s))
      .find(([key, text]) => names.includes(key ?? '') && text !== undefined && text !== '')?.[1]
  return { seedFrom: value('s', 'seedfrom'), hostname: value('h', 'local-hostname') }
}
