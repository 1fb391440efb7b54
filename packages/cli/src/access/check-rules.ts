/** `freshet check rules FILE...`: has it mistakes, and does it do what its examples say? */
import { rulesIn } from '../config/file-kinds.js'
import type { CheckRulesLine } from './check-rules-line.js'

export function checkRules({ files, isJson }: CheckRulesLine): number {
  const checked = files.map(file => ({ file, ...rulesIn(file) }))
  for (const { file, mistakes, examples } of checked) {
    if (isJson) console.log(JSON.stringify({ file, mistakes, examples }))
    else if (mistakes.length > 0) console.error(mistakes.join('\n'))
    else console.log(`${file}: no mistakes; all ${examples} examples come out as they say.`)
  }
  return checked.every(({ mistakes }) => mistakes.length === 0) ? 0 : 1
}
