/** Whether the server's headers about an object arrive. */
import { parseEtag } from '@freshet/protocol'
import { fatal, good, type Probe } from './finding.js'
import { headerOf } from './http-probe.js'

export const leavesEtags: Probe = {
  fact: 'etag',
  claim: 'ETag arrives as the server sent it',
  examine: async ({ objects }) => {
    const object = await objects.create('etag', { sizeBytes: 4096 })
    const etags = []
    for (const coding of ['identity', 'gzip', 'identity']) {
      etags.push(headerOf(await objects.read(object, { headers: { 'Accept-Encoding': coding } }), 'etag') ?? '')
    }
    const wrong = etags.find(etag => parseEtag(etag) !== object.position)
    if (wrong !== undefined) {
      return fatal(
        wrong === '' ? 'ETag is missing.' : `ETag is ${wrong}, where the version is ${object.position}.`,
        'Fatal: clients cannot tell which version they got, and reads fail with ANSWER_INVALID.',
      )
    }
    const weak = etags.find(etag => etag.startsWith('W/'))
    if (weak === undefined) return good(`It is ${etags[0]}.`)
    return {
      effect: 'harmless',
      adviceOf: 'etag-weak',
      saw: `ETag is ${weak}: this cache compresses or decompresses by itself.`,
      means: 'Harmless: Freshet clients understand it.',
    }
  },
}

export const leavesPositions: Probe = {
  fact: 'position',
  claim: 'Freshet-Position arrives as the server sent it',
  examine: async scene => {
    const object = await scene.objects.create('position-kept')
    const { position } = await scene.objects.read(object)
    if (position !== undefined && position >= object.position) return good(`It is ${position}.`)
    return fatal(
      position === undefined ? 'Freshet-Position is missing.' : `It is ${position}, which is too old.`,
      'Fatal: clients cannot tell how old an answer is, and most reads fail with CACHE_UNTRUSTWORTHY.',
    )
  },
}
