/** A command line that cannot be run. Its message is for the person who typed it: it is shown without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
