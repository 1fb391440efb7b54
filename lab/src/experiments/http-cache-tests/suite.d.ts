// biome-ignore-all lint/style/noDefaultExport: the package has a default export
/** Types for the parts of http-cache-tests that are used here; the package has none. */
declare module 'http-cache-tests/tests/index.mjs' {
  export interface SuiteTest {
    readonly id: string
    readonly name: string
    /** Default 'required'. */
    readonly kind?: 'required' | 'optimal' | 'check'
    readonly depends_on?: readonly string[]
    readonly browser_only?: boolean
  }
  const suites: readonly { readonly id: string; readonly name: string; readonly tests: readonly SuiteTest[] }[]

  export { suites as default }
}

declare module 'http-cache-tests/server/handle-config.mjs' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  const handle: (path: readonly string[], request: IncomingMessage, response: ServerResponse) => void

  export { handle as default }
}

declare module 'http-cache-tests/server/handle-state.mjs' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  const handle: (path: readonly string[], request: IncomingMessage, response: ServerResponse) => void

  export { handle as default }
}

declare module 'http-cache-tests/server/handle-test.mjs' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  const handle: (path: readonly string[], request: IncomingMessage, response: ServerResponse) => void

  export { handle as default }
}
