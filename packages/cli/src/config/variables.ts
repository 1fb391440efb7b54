/**
 * The environment, including values kept in files: `FRESHET_STORE_FILE=/run/secrets/store` stands for `FRESHET_STORE`, as Docker
 * and Kubernetes hand over secrets.
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
 * The values of the flags given, and otherwise of the variables with the same names, or of the files that those name: other users
 * can see passwords on a command line. A flag overrides a variable, even a wrong one. Throws CONFIG_INVALID.
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
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${message})`
    throw configInvalid(
      `The file ${path}, which ${variable} names, ${reason}. Correct the variable, or leave it out.`,
      cause,
    )
  }
}
