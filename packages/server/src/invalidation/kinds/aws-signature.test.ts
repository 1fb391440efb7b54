import { expect, test } from 'vitest'
import { amzDate, signAws } from './aws-signature.js'

test("a request is signed as in AWS's own example", () => {
  const request = {
    method: 'GET',
    path: '/',
    query: 'Action=ListUsers&Version=2010-05-08',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
      Host: 'iam.amazonaws.com',
      'X-Amz-Date': '20150830T123600Z',
    },
    body: '',
  }
  const scope = {
    accessKeyId: 'AKIDEXAMPLE',
    secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
    service: 'iam',
  }
  expect(signAws(request, scope)).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, ' +
      'SignedHeaders=content-type;host;x-amz-date, ' +
      'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  )
})

test('a time has the format of AWS', () => {
  expect(amzDate(new Date('2015-08-30T12:36:00.123Z'))).toBe('20150830T123600Z')
})
