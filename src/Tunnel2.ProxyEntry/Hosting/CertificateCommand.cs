using System.Security.Cryptography.X509Certificates;
using Tunnel2.Protocol;
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
    private const string HostOption = "--host";
    private const string OutOption = "--out";

    public static bool IsMeant(string[] args) => args is ["certificate", ..];

    public static int Run(string[] args, TextWriter output, TextWriter error)
    {
        var names = new List<string>();
        if (Read(args, names, out var path) is { } mistake)
        {
            error.WriteLine($"tunnel2-entry: {mistake}");
            error.WriteLine(EntryHelp.CertificateUsage);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            if (Directory.Exists(path))
            {
                error.WriteLine($"tunnel2-entry: {path} cannot be written: it is a folder, not a file");
                return ExitFailed;
            }

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
            // The system names the file beside it that is written first.
            error.WriteLine($"tunnel2-entry: {path} cannot be written: {Reason(path, exception)}");
            return ExitFailed;
        }
    }

    private static string Reason(string path, Exception exception) =>
        !Directory.Exists(Path.GetDirectoryName(Path.GetFullPath(path))) ? "its folder is not there"
            : exception is UnauthorizedAccessException ? "its folder may not be written"
            : exception.Message.ReplaceLineEndings(" ");

    /// <returns>What is wrong with the words; null: nothing.</returns>
    private static string? Read(string[] args, List<string> names, out string path)
    {
        path = "";
        for (var i = 2; i < args.Length; i += 2)
        {
            if (args[i] is not (HostOption or OutOption))
            {
                return EntryWords.Unknown(args[i], HostOption, OutOption);
            }

            if (i + 1 == args.Length || args[i + 1].StartsWith("--", StringComparison.Ordinal))
            {
                return $"{args[i]} needs a value";
            }

            if (args[i] == OutOption)
            {
                path = args[i + 1];
            }
            else
            {
                names.AddRange(args[i + 1].Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries));
            }
        }

        return names.Count == 0 ? $"{HostOption} is missing: the names or addresses at which agents reach the server"
            : path.Length == 0 ? $"{OutOption} is missing: the file for certificate and key"
            : names.Find(static name => !SelfMadeCertificate.IsHost(name)) is { } wrong
                ? $"{HostOption}: '{PlainText.Clean(wrong, 100)}' is neither a name of a host nor an address"
            : null;
    }
}
