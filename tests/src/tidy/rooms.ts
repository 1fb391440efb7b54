/** Which room a path belongs to, and what kind of file it is: all that the rules know about the layout of the tree. */
export interface Room {
  readonly name: string
  /** The folder of its package.json, without a slash at the end. */
  readonly root: string
}

export function roomOf(path: string): Room | undefined {
  const match = /^(?:packages\/([^/]+)|(lab|site|tests))(?=\/)/.exec(path)
  return match ? { name: (match[1] ?? match[2])!, root: match[0] } : undefined
}

export function isCode(path: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(path)
}

export function isTest(path: string): boolean {
  return /\.test\.[cm]?[jt]sx?$/.test(path)
}
