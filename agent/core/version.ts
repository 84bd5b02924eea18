/** Version of Stele; a test keeps it equal to package.json, which a bundle does not carry. */
export const VERSION = '0.1.0'
