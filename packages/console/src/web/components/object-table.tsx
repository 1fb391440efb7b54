/** Objects of a bucket, each with a link to its page. */
import type { JSX } from 'preact'
import { linkTo } from '../route.js'
import { Table } from './table.js'
import { brief } from './words.js'

export interface ListedObject {
  readonly id: string
  readonly version: number | undefined
  readonly value: unknown
}

export interface ObjectTableProps {
  readonly label: string
  readonly bucket: string
  readonly objects: readonly ListedObject[]
}

export function ObjectTable({ label, bucket, objects }: ObjectTableProps): JSX.Element {
  return (
    <Table label={label} columns={['Id', 'Version', 'Value']} class="objects">
      {objects.map(({ id, version, value }) => (
        <tr key={id}>
          <th scope="row">
            <a href={linkTo('data', ...bucket.split('/'), id)}>{id}</a>
          </th>
          <td class="number">{version}</td>
          <td>
            <code>{brief(value)}</code>
          </td>
        </tr>
      ))}
    </Table>
  )
}
