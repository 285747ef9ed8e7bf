using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Reads the authorities that issue agents' certificates.</summary>
internal static class ClientAuthorities
{
    /// <summary>Reads a PEM file.</summary>
    /// <param name="path">The file.</param>
    /// <param name="authorities">Its certificates.</param>
    /// <param name="problem">The mistake in it.</param>
    public static bool TryLoad(string path, out X509Certificate2Collection authorities, out string problem)
    {
        authorities = [];
        problem = "";
        try
        {
            SettingFile.Require(path);
            authorities.ImportFromPemFile(path);
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            problem = FileFailure.Reason(path, exception);
            return false;
        }

        problem = authorities.Count == 0 ? "it has no certificate." : "";
        return authorities.Count > 0;
    }
}
