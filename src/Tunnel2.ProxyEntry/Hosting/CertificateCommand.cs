using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry certificate create</c>: makes a certificate for <c>Uplink:Certificate</c> before the first start, so that agents can
/// get its fingerprint early, or for <c>Public:Certificate</c>. It prints only the fingerprint.
/// </summary>
internal static class CertificateCommand
{
    private const int ExitFailed = 1;

    public static bool IsMeant(string[] args) => args is ["certificate", ..];

    public static int Run(string[] args, TextWriter output, TextWriter error)
    {
        var names = new List<string>();
        string? path = null;
        var isRight = args is ["certificate", "create", ..];
        for (var i = 2; isRight && i < args.Length; i += 2)
        {
            var value = i + 1 < args.Length && !args[i + 1].StartsWith("--", StringComparison.Ordinal) ? args[i + 1] : null;
            isRight = value is not null;
            switch (args[i])
            {
                case "--host":
                    names.AddRange((value ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries));
                    break;
                case "--out":
                    path = value;
                    break;
                default:
                    isRight = false;
                    break;
            }
        }

        if (!isRight || names.Count == 0 || path is null || !names.TrueForAll(SelfMadeCertificate.IsHost))
        {
            error.WriteLine(EntryHelp.CertificateUsage);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            if (File.Exists(path))
            {
                // Agents may trust the existing one.
                error.WriteLine($"tunnel2-entry: {path} is there already");
                return ExitFailed;
            }

            SelfMadeCertificate.Create(path, names, DateTimeOffset.UtcNow);
            using var certificate = X509CertificateLoader.LoadCertificateFromFile(path);
            output.WriteLine(CertificateFingerprint.Of(certificate));
            foreach (
                var name in names.Where(static name => name.StartsWith("*.", StringComparison.Ordinal) && !name.AsSpan(2).Contains('.')))
            {
                error.WriteLine(
                    $"tunnel2-entry: browsers and OpenSSL refuse {name}, directly below a top-level domain; "
                        + $"Tunnel2:Public:Certificate=self-made makes a certificate for each name");
            }

            return 0;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            error.WriteLine($"tunnel2-entry: {exception.Message}");
            return ExitFailed;
        }
    }
}
