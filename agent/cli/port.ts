/** Where nodes listen unless an endpoint says otherwise. */
export const DEFAULT_PORT = 50000
