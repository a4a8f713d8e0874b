# Fetches an object again and again by boto3; prints a line of JSON for each call.
# python3 s3.py <endpoint> <seconds in all> <seconds between calls>
import json
import sys
import time

import boto3
from botocore.config import Config

endpoint, duration, interval = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
client = boto3.client(
    "s3", endpoint_url=endpoint, config=Config(s3={"addressing_style": "path"})
)
end = time.time() + duration
failed = False
while True:
    start = time.time()
    try:
        body = client.get_object(Bucket="b", Key="k")["Body"].read().decode()
        ms = round((time.time() - start) * 1000)
        print(json.dumps({"ok": body, "ms": ms}), flush=True)
    except Exception as error:
        ms = round((time.time() - start) * 1000)
        print(json.dumps({"error": type(error).__name__, "message": str(error), "ms": ms}), flush=True)
        failed = True
        break
    time.sleep(interval)
    if time.time() >= end:
        break
sys.exit(1 if failed else 0)
