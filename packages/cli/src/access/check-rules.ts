/** `freshet check rules FILE...`: finds mistakes, tests the rules against their examples, and lists the indexes they need. */
import type { IndexesOfBucket } from '@freshet/server/configuration'
import { rulesIn } from '../config/file-kinds.js'
import type { CheckRulesLine } from './check-rules-line.js'

export function checkRules({ files, isJson }: CheckRulesLine): number {
  const checked = files.map(file => ({ file, ...rulesIn(file) }))
  for (const { file, mistakes, examples, indexes } of checked) {
    if (isJson) console.log(JSON.stringify({ file, mistakes, examples, indexes }))
    else if (mistakes.length > 0) console.error(mistakes.join('\n'))
    else {
      console.log(`${file}: no mistakes; all ${examples} examples hold.`)
      for (const line of indexes.flatMap(linesOf)) console.log(`  ${line}`)
    }
  }
  return checked.every(({ mistakes }) => mistakes.length === 0) ? 0 : 1
}

function linesOf({ bucket, indexes, areEnough }: IndexesOfBucket): readonly string[] {
  return [
    ...indexes.map(index => `${bucket} needs the index ${JSON.stringify(index)}.`),
    ...(areEnough
      ? []
      : [`${bucket} has a rule that no index serves: the server will refuse long lists (INDEX_REQUIRED).`]),
  ]
}
