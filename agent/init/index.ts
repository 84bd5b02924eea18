/** What others may know of init: where a node keeps its files, and how to ask for services and power. */
export { callInit } from './client.ts'
export { InitFault, type InitFaultCode } from './fault.ts'
export { nodeDirectory, type NodeDirectory } from './node-directory.ts'
export { type NodeFile } from './node-file.ts'
export { type InitRequest, type InitResponse, type InitService, type ServiceName } from './protocol.ts'
