using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Uplink.Tls;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry certificate create</c>: makes a certificate for <c>Uplink:Certificate</c> before the first start, so that agents can be told
/// its fingerprint. Only the fingerprint goes to the output.
/// </summary>
internal static class CertificateCommand
{
    private const int ExitFailed = 1;

    public static bool IsMeant(string[] args) => args is ["certificate", ..];

    public static int Run(string[] args, TextWriter output, TextWriter error)
    {
        string? hosts = null;
        string? path = null;
        var isRight = args is ["certificate", "create", ..];
        for (var i = 2; isRight && i < args.Length; i += 2)
        {
            var value = i + 1 < args.Length && !args[i + 1].StartsWith("--", StringComparison.Ordinal) ? args[i + 1] : null;
            isRight = value is not null;
            switch (args[i])
            {
                case "--host":
                    hosts = value;
                    break;
                case "--out":
                    path = value;
                    break;
                default:
                    isRight = false;
                    break;
            }
        }

        var names = (hosts ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (!isRight || names.Length == 0 || path is null || names.Any(static name => Uri.CheckHostName(name) == UriHostNameType.Unknown))
        {
            error.WriteLine(EntryHelp.CertificateUsage);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            if (File.Exists(path))
            {
                // Agents may trust the one that is there.
                error.WriteLine($"tunnel2-entry: {path} is there already");
                return ExitFailed;
            }

            SelfMadeCertificate.Create(path, names, DateTimeOffset.UtcNow);
            using var certificate = X509CertificateLoader.LoadCertificateFromFile(path);
            output.WriteLine(CertificateFingerprint.Of(certificate));
            return 0;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            error.WriteLine($"tunnel2-entry: {exception.Message}");
            return ExitFailed;
        }
    }
}
