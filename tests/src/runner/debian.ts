/**
 * Installs packages on Debian as root. The output of apt-get is long, so it is shown only on failure. Servers among the packages
 * are not started: tests start their own.
 */
import { spawn } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** Debian runs this script before it starts or stops a service; exit code 101 means "not allowed". */
const POLICY = '/usr/sbin/policy-rc.d'

export function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

/** Returns even when a step fails: the caller checks whether the package is there. */
export async function installPackages(packages: readonly string[], say: (line: string) => void): Promise<void> {
  const steps = [['update'], ['install', '-y', '--no-install-recommends', ...packages]]
  const hasPolicy = existsSync(POLICY)
  if (!hasPolicy) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    for (const step of steps) {
      say(`  apt-get ${step.join(' ')}`)
      const { exitCode, output } = await aptGet(step)
      if (exitCode !== 0) say(`  apt-get ${step[0]} failed (${exitCode}):\n${output.trimEnd().replace(/^/gm, '    ')}`)
    }
  } finally {
    if (!hasPolicy) rmSync(POLICY)
  }
}

function aptGet(args: readonly string[]): Promise<{ exitCode: number | string; output: string }> {
  return new Promise(resolve => {
    const child = spawn('apt-get', ['-q', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', text => {
        output += text
      })
    }
    child.once('error', error => resolve({ exitCode: 'not started', output: error.message }))
    child.once('close', (code, killedBy) => resolve({ exitCode: code ?? killedBy ?? 'unknown', output }))
  })
}
