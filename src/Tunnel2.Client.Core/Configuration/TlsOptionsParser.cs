using System.Net;
using System.Security.Cryptography;
using Tunnel2.Transport.Outputs;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Decides whether the uplink is encrypted: <c>tls://</c>, <c>tcp://</c>, <c>wss://</c> or <c>ws://</c> before the server says so;
/// otherwise it is, unless the server is written as this machine (localhost, 127.0.0.0/8, ::1) and no flag is about TLS. It never goes
/// back to plaintext by itself.
/// </summary>
internal static class TlsOptionsParser
{
    private const string FingerprintFlag = "--server-fingerprint";
    private const string CaFlag = "--server-ca";
    private const string CertificateFlag = "--client-cert";
    private const string KeyFlag = "--client-key";

    /// <summary>Takes <c>tls://</c> or <c>tcp://</c> from a server's address.</summary>
    /// <param name="text">The address as it was written.</param>
    /// <param name="wantsTls">What it asks for; null: nothing.</param>
    public static string TakeScheme(string text, out bool? wantsTls)
    {
        foreach (var (scheme, tls) in new[] { ("tls://", true), ("tcp://", false) })
        {
            if (text.StartsWith(scheme, StringComparison.OrdinalIgnoreCase))
            {
                wantsTls = tls;
                return text[scheme.Length..].TrimEnd('/');
            }
        }

        wantsTls = null;
        return text;
    }

    /// <summary>Judges the settings.</summary>
    /// <param name="input">What was given.</param>
    /// <param name="server">Where the agent connects to.</param>
    /// <param name="wantsTls">What the server's scheme asks for.</param>
    /// <param name="mistakes">Receives what is wrong.</param>
    /// <returns>Null for plaintext.</returns>
    public static TlsOptions? Parse(AgentOptionsInput input, ServerEndpoint server, bool? wantsTls, List<OptionMistake> mistakes)
    {
        var isAnyGiven = (input[FingerprintFlag] ?? input[CaFlag] ?? input[CertificateFlag] ?? input[KeyFlag]) is not null;
        if (wantsTls == false && isAnyGiven)
        {
            var isWebSocket = input["--server"]?.StartsWith("ws", StringComparison.OrdinalIgnoreCase) == true;
            mistakes.Add(new OptionMistake(
                "--server",
                isWebSocket
                    ? "ws:// is plaintext and cannot go with flags about TLS; write wss://"
                    : "tcp:// is plaintext and cannot go with flags about TLS; write tls://"));
            return null;
        }

        if (!isAnyGiven)
        {
            return wantsTls ?? !IsThisMachine(server.Host) ? new TlsOptions() : null;
        }

        var options = new TlsOptions
        {
            ServerFingerprints = ParseFingerprints(Filled(FingerprintFlag, input, mistakes), mistakes),
            ServerCaFile = Filled(CaFlag, input, mistakes),
            ClientCertificateFile = Filled(CertificateFlag, input, mistakes),
            ClientKeyFile = Filled(KeyFlag, input, mistakes),
        };
        CheckFiles(options, mistakes);
        return options;
    }

    /// <summary>Whether a host is written as this machine; a name that only resolves to it is not.</summary>
    internal static bool IsThisMachine(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase)
        || (IPAddress.TryParse(host, out var address) && IPAddress.IsLoopback(address));

    private static List<string> ParseFingerprints(string? text, List<OptionMistake> mistakes)
    {
        var fingerprints = new List<string>();
        foreach (var part in (text ?? "").Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            if (CertificateFingerprint.TryParse(part, out var fingerprint))
            {
                fingerprints.Add(fingerprint.ToString());
            }
            else
            {
                mistakes.Add(new OptionMistake(
                    FingerprintFlag, $"'{part}' is not sha256: and 64 hexadecimal digits, as ProxyEntry prints it at its start"));
            }
        }

        return fingerprints;
    }

    private static void CheckFiles(TlsOptions options, List<OptionMistake> mistakes)
    {
        if (options.ServerCaFile is not null && options.ServerFingerprints.Count > 0)
        {
            mistakes.Add(new OptionMistake(CaFlag, $"cannot go with {FingerprintFlag}; give one of them"));
        }

        if (options.ClientKeyFile is not null && options.ClientCertificateFile is null)
        {
            mistakes.Add(new OptionMistake(KeyFlag, $"needs {CertificateFlag}"));
        }

        Check(CaFlag, options.ServerCaFile, () => TlsFiles.LoadAuthorities(options), mistakes);
        Check(
            CertificateFlag,
            options.ClientCertificateFile,
            () => TlsFiles.LoadClientCertificate(options)?.TargetCertificate.Dispose(),
            mistakes);
    }

    /// <summary>Reads a file once, so that one that cannot be used is a mistake at the start.</summary>
    internal static void Check(string flag, string? path, Action load, List<OptionMistake> mistakes)
    {
        try
        {
            if (path is not null)
            {
                load();
            }
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            mistakes.Add(new OptionMistake(flag, $"'{path}' cannot be used: {FileFailure.Reason(path!, exception).TrimEnd('.')}"));
        }
    }

    /// <summary>
    /// An empty value, such as that of a script's variable that is not set, must not trust another server than was meant.
    /// </summary>
    internal static string? Filled(string flag, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        string? text = input[flag];
        if (!string.IsNullOrWhiteSpace(text))
        {
            return text;
        }

        if (text is not null)
        {
            mistakes.Add(new OptionMistake(flag, "is empty"));
        }

        return null;
    }
}
