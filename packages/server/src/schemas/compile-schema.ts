/**
 * Compiles a schema into a check of objects, with ajv, which turns it into a function (docs/decisions/0006). ajv is loaded with
 * the first schema, since most servers start without one.
 *
 * The dialect is JSON Schema 2020-12, but stricter where a mistake would go unnoticed: unknown keywords are refused, unless
 * they start with `x-`. `format` describes and does not check, which is the standard's default.
 */
import { FreshetError, type JsonSchema } from '@freshet/protocol'
import type { Ajv2020, ErrorObject, Options } from 'ajv/dist/2020.js'
import type { RE2JS } from 're2js'
import { compilePattern } from './linear-pattern.js'
import { type CheckedReference, checkedReferences } from './references.js'
import { subschemas } from './subschemas.js'

export interface CompiledSchema {
  readonly references: readonly CheckedReference[]
  /**
   * The places where the value violates the schema, at most `VIOLATIONS_MAX`. For a value larger than people write by hand,
   * only the first: collecting half a million wrong elements would block all other requests.
   */
  check(value: unknown, bytes: number): readonly Misplaced[]
}

export interface Misplaced {
  /** JSON pointer. */
  readonly at: string
  readonly expected: string
}

/** How many places are reported. After correcting these, the client sees the others. */
export const VIOLATIONS_MAX = 20
const REPORTED_IN_FULL_BYTES_MAX = 64 * 1024
const SCHEMA_BYTES_MAX = 64 * 1024
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
/** Keywords that would make the validator do more than check: answer later, or change prototypes. */
const FORBIDDEN = ['$async', '__proto__']

const OPTIONS: Options = {
  allErrors: true,
  // Otherwise, every object would have a `constructor`.
  ownProperties: true,
  strictSchema: true,
  strictNumbers: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  validateFormats: false,
  // `metaSchema` validates all schemas: building such a validator takes most of the time.
  validateSchema: false,
  addUsedSchema: false,
  logger: false,
}

/** Throws SCHEMA_INVALID. */
export async function compileSchema(schema: JsonSchema): Promise<CompiledSchema> {
  const [{ Ajv2020 }, { RE2JS }] = await Promise.all([import('ajv/dist/2020.js'), import('re2js')])
  checkForm(schema, Ajv2020)
  const references = checkedReferences(schema)
  const options: Options = { ...OPTIONS, code: { regExp: linearPatterns(RE2JS) } }
  const toTheEnd = compile(schema, new Ajv2020(options))
  let toTheFirst: typeof toTheEnd | undefined
  return {
    references,
    check: (value, bytes) => {
      if (bytes > REPORTED_IN_FULL_BYTES_MAX) {
        toTheFirst ??= compile(schema, new Ajv2020({ ...options, allErrors: false }))
      }
      const validate = bytes > REPORTED_IN_FULL_BYTES_MAX ? toTheFirst! : toTheEnd
      return validate(value) ? [] : (validate.errors ?? []).slice(0, VIOLATIONS_MAX).map(misplaced)
    },
  }
}

/**
 * Compiles `pattern` and `patternProperties`. `code` is where the validator would find the function if it were written to a
 * file.
 */
function linearPatterns(engine: typeof RE2JS): NonNullable<NonNullable<Options['code']>['regExp']> {
  return Object.assign((pattern: string) => compilePattern(pattern, engine), { code: 'linearPatterns' })
}

let metaSchema: Ajv2020 | undefined

function checkForm(schema: JsonSchema, Ajv: typeof Ajv2020): void {
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > SCHEMA_BYTES_MAX) throw invalid(`it has ${bytes} bytes, but at most ${SCHEMA_BYTES_MAX} are allowed`)
  const { $schema = DIALECT } = schema
  if ($schema !== DIALECT) throw invalid(`$schema must be ${DIALECT}, or be left out`)
  metaSchema ??= new Ajv({ ...OPTIONS, validateSchema: true })
  if (!metaSchema.validateSchema(schema)) {
    const { at, expected } = misplaced(metaSchema.errors![0]!)
    throw invalid(`at ${at === '' ? 'its top' : at}: ${expected}`)
  }
  for (const inner of subschemas(schema)) {
    const forbidden = FORBIDDEN.find(keyword => Object.hasOwn(inner, keyword))
    if (forbidden !== undefined) throw invalid(`it must not contain ${forbidden}`)
  }
}

function compile(schema: JsonSchema, ajv: Ajv2020) {
  const own = new Set(
    [...subschemas(schema)].flatMap(inner => Object.keys(inner).filter(name => /^x-[\w-]+$/.test(name))),
  )
  for (const keyword of own) ajv.addKeyword({ keyword })
  try {
    return ajv.compile(schema)
  } catch (cause) {
    // An unknown keyword, a dangling $ref, an invalid regular expression, or one that cannot be matched in linear time.
    throw invalid((cause as Error).message.replace(/^strict mode: /, ''), cause)
  }
}

function misplaced({ instancePath, keyword, params, message = keyword }: ErrorObject): Misplaced {
  const extra = params.additionalProperty ?? params.unevaluatedProperty
  if (typeof extra === 'string') {
    const at = `${instancePath}/${extra.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return { at, expected: 'nothing: there is no such field' }
  }
  if (keyword === 'enum') return { at: instancePath, expected: `one of ${short(params.allowedValues)}` }
  if (keyword === 'const') return { at: instancePath, expected: short(params.allowedValue) }
  return { at: instancePath, expected: message.replace(/^must (?:be )?/, '') }
}

function short(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function invalid(reason: string, cause?: unknown): FreshetError {
  return new FreshetError('SCHEMA_INVALID', `This is not a valid schema for a bucket: ${reason}.`, { cause })
}
