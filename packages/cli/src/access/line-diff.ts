/** Which lines two texts do not share, in order: by the longest sequence of lines that both have. */
export interface DiffLine {
  readonly sign: '+' | '-' | ' '
  readonly text: string
}

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  // shared[i][j]: how many lines a (from i on) and b (from j on) have in common.
  const shared = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      shared[i]![j] = a[i] === b[j] ? shared[i + 1]![j + 1]! + 1 : Math.max(shared[i + 1]![j]!, shared[i]![j + 1]!)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const isShared = i < a.length && j < b.length && a[i] === b[j]
    const isRemoved = j === b.length || (i < a.length && shared[i + 1]![j]! >= shared[i]![j + 1]!)
    lines.push(
      isShared ? { sign: ' ', text: a[i]! } : isRemoved ? { sign: '-', text: a[i]! } : { sign: '+', text: b[j]! },
    )
    if (isShared || isRemoved) i++
    if (isShared || !isRemoved) j++
  }
  return lines
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
