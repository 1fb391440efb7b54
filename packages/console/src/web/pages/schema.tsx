/** The settings of a bucket, the schema of its objects, and earlier schemas. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { BucketChoice } from '../components/bucket-choice.js'
import { Field } from '../components/field.js'
import { Failure, Notice } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { useLoaded } from '../components/use-loaded.js'
import { brief, pretty } from '../components/words.js'
import { chosenBucket, linkTo } from '../route.js'
import { CallError, call, send } from '../server/call.js'

interface Settings {
  /** As the server sent them, without the progress of indexes. */
  readonly text: string
  readonly etag: string
}

interface SchemaVersion {
  readonly version: number
  readonly schema: unknown
  readonly position: number
  readonly migration?: string
}

export function SchemaPage(): JSX.Element {
  const bucket = chosenBucket()
  return (
    <>
      <PageTitle title="Schema">The settings of buckets, and the schemas of their objects.</PageTitle>
      <BucketChoice page="schema" chosen={bucket} />
      {bucket !== undefined && <BucketSettings key={bucket} bucket={bucket} />}
    </>
  )
}

function BucketSettings({ bucket }: { readonly bucket: string }): JSX.Element {
  const settings = useLoaded(() => readSettings(bucket), bucket)
  const history = useLoaded(() => call<{ schemas: readonly SchemaVersion[] }>(`/db/${bucket}?schemas`), bucket)
  const [text, setText] = useState<string>()
  const [steps, setSteps] = useState('')
  const [failure, setFailure] = useState<unknown>()
  const [note, setNote] = useState<JSX.Element>()
  const loaded = settings.value?.text
  useEffect(() => setText(loaded), [loaded])
  const apply = async () => {
    setFailure(undefined)
    setNote(undefined)
    const change = {
      ...JSON.parse(text ?? '{}'),
      ...(steps.trim() === '' ? {} : { migration: { steps: JSON.parse(steps) } }),
    }
    const { task } = await putSettings(bucket, change, settings.value!.etag)
    setNote(
      task === undefined ? (
        <>Saved.</>
      ) : (
        <>
          Saved. <a href={linkTo('tasks')}>A task</a> completes the change.
        </>
      ),
    )
    settings.reload()
    history.reload()
  }
  return (
    <>
      <Panel
        title={`Settings of ${bucket}`}
        actions={
          <button type="button" class="main" onClick={() => void apply().catch(setFailure)}>
            Save
          </button>
        }
      >
        <Failure of={failure ?? settings.error} />
        <Violations of={failure} />
        {note !== undefined && <Notice kind="good">{note}</Notice>}
        <Field
          label="Settings, as JSON: kind, lifetimeMs, indexes, schema and others"
          value={text ?? ''}
          onInput={setText}
          lines={16}
        />
        <Field
          label="Migration steps, if existing objects do not fit a new schema"
          value={steps}
          onInput={setSteps}
          lines={2}
          placeholder={'[{"rename":"/price","to":"/cost"}, {"default":"/stock","value":0}]'}
        />
      </Panel>
      <Versions schemas={history.value?.schemas} error={history.error} />
    </>
  )
}

function Versions({
  schemas,
  error,
}: {
  readonly schemas: readonly SchemaVersion[] | undefined
  readonly error: unknown
}): JSX.Element {
  return (
    <Panel title="All schemas of this bucket">
      <Failure of={error} />
      {schemas?.length === 0 && <p class="quiet">It never had a schema.</p>}
      {schemas?.toReversed().map(({ version, schema, position, migration }) => (
        <details key={version}>
          <summary>
            Version {version}, from position {position} on{migration === undefined ? '' : ` (${migration})`}
          </summary>
          <pre>{schema === null ? 'None.' : pretty(schema)}</pre>
        </details>
      ))}
    </Panel>
  )
}

/** Existing objects that do not fit. */
function Violations({ of: error }: { readonly of: unknown }): JSX.Element | null {
  const violations = error instanceof CallError ? error.details.violations : undefined
  if (!Array.isArray(violations)) return null
  return (
    <ul class="plain-list">
      {violations.slice(0, 20).map((each: { path: string; at: string; expected: string }) => (
        <li key={`${each.path}${each.at}`}>
          <code>{each.path}</code> {each.at} {brief(each.expected)}
        </li>
      ))}
    </ul>
  )
}

async function readSettings(bucket: string): Promise<Settings> {
  const response = await send(`/db/${bucket}?settings`)
  const {
    indexes,
    schemaVersion: _,
    ...settings
  } = (await response.json()) as {
    indexes?: readonly { name: string; fields: readonly unknown[] }[]
    schemaVersion?: number
  }
  const declared = indexes?.map(({ name, fields }) => ({ name, fields }))
  return {
    text: pretty({ ...settings, ...(declared === undefined ? {} : { indexes: declared }) }),
    etag: response.headers.get('etag') ?? '',
  }
}

function putSettings(bucket: string, change: unknown, etag: string): Promise<{ readonly task?: string }> {
  return call(`/db/${bucket}`, { method: 'PUT', body: change, headers: etag === '' ? {} : { 'if-match': etag } })
}
