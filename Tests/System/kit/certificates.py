"""An authority, and a certificate by it for localhost and 127.0.0.1."""
import subprocess


def make_certificates(folder):
    """Writes ca.pem, leaf.pem and leaf.key."""
    run = lambda text: subprocess.run(text.split(), cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    run(f"openssl req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority -days 2")
    run(f"openssl req -x509 {key} -keyout leaf.key -out leaf.pem -subj /CN=localhost -days 2 -CA ca.pem -CAkey ca.key "
        "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE")
