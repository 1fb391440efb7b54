/** A text file of the repository: what tidy checks, and what `npm run bench -- structure` counts. */
export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

export function isCode(path: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(path)
}

export function isTest(path: string): boolean {
  return /\.test\.[cm]?[jt]sx?$/.test(path)
}

/** A test, or in a folder of code that only tests use. */
export function isForTests(path: string): boolean {
  return isTest(path) || /\/(?:under-test|testing|conformance)\//.test(path)
}

/** The line, from 1, that `offset` lies on. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}
