/** `POST /doctor`: one line for each finding as it is found, and a last line with all of them. */
import { send } from '../../server/call.js'

export interface Finding {
  readonly fact: string
  readonly effect: 'fatal' | 'unsafe' | 'slower' | 'harmless' | 'undecided' | 'good'
  readonly claim: string
  readonly saw: string
  readonly means?: string
}

export interface Advised extends Finding {
  readonly advice: readonly { readonly cache: string; readonly where: string; readonly lines: readonly string[] }[]
}

export interface Examination {
  readonly isSafe: boolean
  readonly findings: readonly Advised[]
}

interface Said {
  readonly finding?: Finding
  readonly total?: number
  readonly report?: Examination
  readonly error?: string
}

/** Throws an error with the doctor's message if it could not examine the cache. */
export async function examine(
  cache: string,
  onFinding: (finding: Finding, total: number) => void,
): Promise<Examination> {
  const response = await send('/doctor', { method: 'POST', body: { cache } })
  for await (const line of linesOf(response)) {
    const { finding, total = 0, report, error } = JSON.parse(line) as Said
    if (error !== undefined) throw new Error(error)
    if (report !== undefined) return report
    if (finding !== undefined) onFinding(finding, total)
  }
  throw new Error('The answer of the doctor was cut off. Check the logs.')
}

async function* linesOf(response: Response): AsyncGenerator<string, void, undefined> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter(line => line !== '')
    if (done) return
  }
}
