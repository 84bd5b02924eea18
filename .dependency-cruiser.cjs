/**
 * Who may import whom: the architecture as a table. A folder may import itself, what its row lists, and `node:` modules; packages are listed
 * by name. Anything else is an error, and so is every cycle, type-only ones included.
 */
const rows = {
  'agent/kit': { own: [], packages: ['pino'] },
  pki: { own: [], packages: ['node-forge'] },
  'agent/api': { own: [], packages: ['@grpc/grpc-js', '@bufbuild/protobuf'] },
  'agent/config': { own: ['agent/kit', 'pki'], packages: ['zod', 'yaml'] },
  'agent/rpc': { own: ['agent/kit', 'pki', 'agent/api'], packages: ['@grpc/grpc-js', 'lru-cache'] },
  'agent/init': { own: ['agent/kit'], packages: ['zod'] },
  'agent/core': {
    own: ['agent/kit', 'pki', 'agent/api', 'agent/config', 'agent/rpc', 'agent/init'],
    packages: ['@grpc/grpc-js', 'koffi', 'zod', 'yaml', 'lru-cache', 'diff'],
  },
  'agent/gateway': {
    own: ['agent/kit', 'pki', 'agent/api', 'agent/rpc'],
    packages: ['@grpc/grpc-js', 'lru-cache'],
  },
  'agent/trust': {
    own: ['agent/kit', 'pki', 'agent/api', 'agent/rpc'],
    packages: ['@grpc/grpc-js', 'lru-cache'],
  },
  'agent/cli': {
    own: ['agent/kit', 'pki', 'agent/api', 'agent/config', 'agent/rpc', 'bootstrap-provider/render'],
    packages: ['yaml', 'zod', 'commander', 'cli-table3', 'log-update', 'ms', '@bomb.sh/tab'],
  },
  'bootstrap-provider': { own: ['agent/kit', 'pki', 'agent/config'], packages: ['zod', 'yaml'] },
  images: { own: ['agent/kit', 'agent/config'], packages: ['esbuild', 'commander', 'zod', 'yaml'] },
}

/** Faces: what a folder shows to outsiders. `agent/kit` has none, each of its files is one; a process shows only a contract. */
const faces = ['pki', 'agent/api', 'agent/config', 'agent/rpc', 'agent/init', 'bootstrap-provider/render']

const escape = (text) => text.replace(/[/.-]/g, '\\$&')
const inside = (folder) => `^${escape(folder)}/`

const ownRules = Object.entries(rows).map(([folder, row]) => ({
  name: `only-its-row:${folder}`,
  severity: 'error',
  from: { path: inside(folder) },
  to: {
    path: Object.keys(rows).map(inside),
    pathNot: [inside(folder), ...row.own.map(inside)],
  },
}))

const packageRules = Object.entries(rows).map(([folder, row]) => ({
  name: `only-its-packages:${folder}`,
  severity: 'error',
  from: { path: inside(folder) },
  to: {
    path: '^node_modules/',
    pathNot: ['^node_modules/@types/', ...row.packages.map((name) => `^node_modules/${escape(name)}/`)],
  },
}))

const faceRules = faces.map((folder) => ({
  name: `only-the-face:${folder}`,
  severity: 'error',
  from: {
    pathNot: [inside(folder), '^test/', ...(folder.startsWith('bootstrap') ? ['^bootstrap-provider/'] : [])],
  },
  to: { path: inside(folder), pathNot: `^${escape(folder)}/index\\.ts$` },
}))

module.exports = {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing-imports-test', severity: 'error', from: { pathNot: '^test/' }, to: { path: '^test/' } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-undeclared-package',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'one-file-knows-the-x509-library',
      severity: 'error',
      from: { pathNot: ['^pki/x509-provider\\.ts$', '^test/'] },
      to: { path: '^node_modules/node-forge/' },
    },
    {
      name: 'gateway-and-trust-start-nothing',
      severity: 'error',
      from: { path: ['^agent/gateway/', '^agent/trust/'] },
      to: { path: '^(node:)?(child_process|cluster|worker_threads)$' },
    },
    {
      name: 'render-is-pure',
      severity: 'error',
      from: { path: '^bootstrap-provider/(render|api)/' },
      to: { path: '^(node:)?(fs|fs/promises|net|http|https|http2|child_process|tls|dgram)$' },
    },
    ...ownRules,
    ...packageRules,
    ...faceRules,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^agent/api/gen/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json'],
    },
  },
}
