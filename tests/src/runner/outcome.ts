/** The outcome of a test run, counted in test cases, and the one line that reports it. */
import type { TestModule, TestRunResult } from 'vitest/node'

export interface Outcome {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function countOutcome({ testModules, unhandledErrors }: TestRunResult): Outcome {
  let passed = 0
  let skipped = 0
  // An error that belongs to no case is still a failure, and must not read as "0 failed".
  let failed = unhandledErrors.length
  for (const module of testModules) {
    for (const suite of [module, ...module.children.allSuites()]) failed += suite.errors().length
    for (const { state } of [...module.children.allTests()].map(test => test.result())) {
      if (state === 'passed') passed++
      else if (state === 'skipped') skipped++
      else failed++ // 'pending' is a case that never ended.
    }
  }
  return { passed, failed, skipped }
}

export function lastLine({ passed, failed, skipped }: Outcome): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** A line for each of the slowest files. */
export function slowestFiles(modules: readonly TestModule[], count: number): readonly string[] {
  return modules
    .map(module => ({ name: module.relativeModuleId, seconds: module.diagnostic().duration / 1000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, count)
    .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`)
}

/** A run in which no test ran proves nothing. */
export function isSuccess({ passed, failed }: Outcome): boolean {
  return failed === 0 && passed > 0
}
