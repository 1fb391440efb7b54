export { FreshetError, type FreshetErrorCode, type FreshetErrorOptions } from './freshet-error.js'
export type {
  BucketList,
  BucketSettings,
  ChangeHash,
  ChangesEvent,
  CoherenceHead,
  CommitAnswer,
  CommitRequest,
  CommitWrite,
  ListItem,
  ListPage,
  NamespaceList,
  SegmentRef,
  ServerTime,
  Tail,
  WriteAnswer,
} from './messages.js'
export {
  bucketOfKey,
  checkId,
  checkName,
  ID_BYTES_MAX,
  idOfKey,
  isName,
  type Key,
  keyOfPath,
  type ObjectName,
  objectKey,
  type Path,
  parseBucketName,
  pathOfKey,
} from './names.js'
export {
  type Coding,
  formatEtag,
  POSITION_HEADER,
  type Position,
  parseEtag,
  parsePosition,
  readPosition,
  type Version,
} from './positions.js'
export { fromProblem, PROBLEM_TYPE, type Problem, STATUS_OF_CODE, statusOf, toProblem } from './problem.js'
