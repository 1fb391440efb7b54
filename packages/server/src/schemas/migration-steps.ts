/**
 * The steps of a migration that the server performs: rename, default, remove. They work on text, so that the parts they do not
 * change stay as they were sent, byte for byte.
 */
import { FreshetError, type Migration, type MigrationStep } from '@freshet/protocol'
import { type JsonNode, parseJsonTree } from '../json/json-text.js'
import { isObject } from './subschemas.js'

const STEPS_MAX = 100
const NAME = /^[\w.-]{1,100}$/
const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/

/** Parses a migration as a client sends it. Throws BODY_INVALID. */
export function readMigration(value: unknown): Migration {
  if (!isObject(value)) throw invalid('it must be { "steps": [...] } or { "by": "client", "name" }')
  const { name, steps, by, ...others } = value
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw invalid(`there is no member ${JSON.stringify(unknown)}, only name, steps and by`)
  if (name !== undefined && (typeof name !== 'string' || !NAME.test(name))) {
    throw invalid('name must have 1 to 100 letters, digits, dots, dashes and underscores')
  }
  if (by === 'client' && steps === undefined && name !== undefined) return { by, name }
  if (by !== undefined) throw invalid('by must be "client", with a name and without steps')
  if (!Array.isArray(steps) || steps.length > STEPS_MAX) throw invalid(`steps must be a list of at most ${STEPS_MAX}`)
  return { ...(name === undefined ? {} : { name }), steps: steps.map(readStep) }
}

function readStep(step: unknown): MigrationStep {
  if (!isObject(step)) throw invalid('each step must be an object')
  const { rename, to, default: field, value, remove } = step
  const names = Object.keys(step).sort().join()
  if (names === 'rename,to' && isPointer(rename) && isPointer(to)) return { rename, to }
  if (names === 'default,value' && isPointer(field)) return { default: field, value }
  if (names === 'remove' && isPointer(remove)) return { remove }
  throw invalid(
    'a step is { "rename": "/old", "to": "/new" }, { "default": "/field", "value": ... } or { "remove": "/field" }, ' +
      'with JSON pointers',
  )
}

function isPointer(value: unknown): value is string {
  return typeof value === 'string' && POINTER.test(value)
}

function invalid(reason: string): FreshetError {
  return new FreshetError('BODY_INVALID', `This is not a valid migration: ${reason}.`)
}

/** An object, as text, after all steps. Throws an Error that names the step that cannot be performed. */
export function takeSteps(text: string, steps: readonly MigrationStep[]): string {
  const before = parseJsonTree(text)
  const after = steps.reduce(takeStep, before)
  return after === before ? text : after.text
}

function takeStep(object: JsonNode, step: MigrationStep): JsonNode {
  if ('remove' in step) return edit(object, namesOf(step.remove), () => undefined)
  if ('default' in step) {
    const value = parseJsonTree(JSON.stringify(step.value))
    return edit(object, namesOf(step.default), present => present ?? value)
  }
  const moved = find(object, namesOf(step.rename))
  if (moved === undefined) return object
  const taken = find(object, namesOf(step.to))
  if (taken !== undefined) throw new Error(`${step.rename} cannot be renamed: ${step.to} already exists`)
  const without = edit(object, namesOf(step.rename), () => undefined)
  const renamed = edit(without, namesOf(step.to), () => moved)
  if (renamed === without) throw new Error(`${step.rename} cannot be renamed: no object can contain ${step.to}`)
  return renamed
}

function namesOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function find(node: JsonNode, names: readonly string[]): JsonNode | undefined {
  return names.reduce<JsonNode | undefined>((at, name) => at?.members?.get(name), node)
}

/** Returns the same node if nothing changes. The parent of the field must exist, and be an object. */
function edit(
  node: JsonNode,
  [name = '', ...rest]: readonly string[],
  change: (present: JsonNode | undefined) => JsonNode | undefined,
): JsonNode {
  if (node.members === undefined) return node
  const present = node.members.get(name)
  if (rest.length > 0 && present === undefined) return node
  const changed = rest.length === 0 ? change(present) : edit(present!, rest, change)
  if (changed === present) return node
  const members = new Map(node.members)
  if (changed === undefined) members.delete(name)
  else members.set(name, changed)
  const text = [...members].map(([key, member]) => `${JSON.stringify(key)}:${member.text}`).join(',')
  return { text: `{${text}}`, members }
}
