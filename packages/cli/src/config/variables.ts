/**
 * The environment, with what it has in files: `FRESHET_STORE_FILE=/run/secrets/store` stands for `FRESHET_STORE`, as secrets of Docker and
 * Kubernetes are handed over.
 */
import { readFileSync } from 'node:fs'
import { configInvalid } from './config-invalid.js'
import { variableOf } from './options.js'
import type { Environment } from './value-kinds.js'

const IN_FILE = '_FILE'

/** Throws CONFIG_INVALID. */
export function readVariables(environment: Environment, names: readonly string[]): Environment {
  const found: Record<string, string | undefined> = { ...environment }
  for (const variable of names.map(variableOf)) {
    const path = environment[variable + IN_FILE]
    if (!path) continue
    if (environment[variable]) {
      throw configInvalid(`Both ${variable} and ${variable}${IN_FILE} are set. Leave one of them out.`)
    }
    found[variable] = read(variable + IN_FILE, path)
  }
  return found
}

/**
 * What the flags of a command say, and else the variables of the same names, or the files that these name: a password on a command line can be
 * seen by others. A flag overrules a variable, also one that is wrong. Throws CONFIG_INVALID.
 */
export function flagsOrVariables<Name extends string>(
  given: ReadonlyMap<string, string>,
  environment: Environment,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const notGiven = names.filter(name => !given.has(name))
  const variables = readVariables(environment, notGiven)
  const found = names.map(name => [name, given.get(name) ?? (variables[variableOf(name)] || undefined)])
  return Object.fromEntries(found.filter(([, text]) => text !== undefined)) as Partial<Record<Name, string>>
}

function read(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'is not there' : `cannot be read (${message})`
    throw configInvalid(
      `The file ${path}, which ${variable} names, ${reason}. Correct the variable, or leave it out.`,
      cause,
    )
  }
}
