/**
 * The pure rooms decide, the edge acts. Time and randomness come in as arguments, so that a protocol runs the same in a test, in
 * the simulator and in production. The rule does not apply to tests of these rooms.
 */

import { builtinModules } from 'node:module'
import { scanImports } from '@freshet/lab/dist/source-tree/scan-imports.js'
import { scanSource } from '@freshet/lab/dist/source-tree/scan-source.js'
import { isCode, isTest, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { isPure } from '../rooms.js'
import { type Finding, findEach } from '../rule.js'

const CLOCKS = anyGlobal([
  ...['Date.now', 'new Date', 'Date(', 'performance.', 'Temporal.Now', 'AbortSignal.timeout'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'requestAnimationFrame', 'requestIdleCallback'],
  ...['process.hrtime', 'process.nextTick', 'process.uptime'],
])
const RANDOMNESS = anyGlobal([
  'Math.random',
  'crypto.getRandomValues',
  'crypto.randomUUID',
  'getRandomValues',
  'randomUUID',
])

export function purity(files: readonly SourceFile[]): Finding[] {
  return files.filter(file => isPureCode(file.path)).flatMap(file => checkFile(file))
}

function isPureCode(path: string): boolean {
  return isPure(path) && isCode(path) && !isTest(path)
}

function checkFile(file: SourceFile): Finding[] {
  const { code } = scanSource(file.text)
  return [
    ...findEach(
      file,
      code,
      CLOCKS,
      match => `${named(match)} reads a clock. Take the time as an argument, such as nowMs.`,
    ),
    ...findEach(
      file,
      code,
      RANDOMNESS,
      match => `${named(match)} draws randomness. Take the random number or seed as an argument.`,
    ),
    ...scanImports(file.text)
      .filter(found => isBuiltin(found.specifier))
      .map(({ specifier, line }) => ({
        path: file.path,
        line,
        message: `'${specifier}' only exists in Node. Take its function as an argument, and let the edge import it.`,
      })),
  ]
}

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier)
}

/** Matches these globals, even through globalThis, but not a method of the same name, such as `clock.setTimeout`. */
function anyGlobal(names: readonly string[]): RegExp {
  const ends = names.map(name => name.replace(/[.(]/g, '\\$&') + (/\w$/.test(name) ? '\\b' : ''))
  return new RegExp(String.raw`(?<![\w$#]|(?<!\bglobalThis)\.)(?:${ends.join('|')})`, 'g')
}

/** The match without a trailing bracket or dot. */
function named(match: RegExpMatchArray): string {
  return match[0].replace(/[(.]$/, '')
}
