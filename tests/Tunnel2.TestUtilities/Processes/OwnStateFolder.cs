namespace Tunnel2.TestUtilities;

/// <summary>
/// The state folder of this process and of the programs that it starts, where they name none: without it tests would read and change what a
/// server of this machine keeps in its own.
/// </summary>
public static class OwnStateFolder
{
    /// <summary>Makes the folder, for as long as the process runs. Once, before the first server starts.</summary>
    public static void Use()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("tunnel2-state-");
        Environment.SetEnvironmentVariable("STATE_DIRECTORY", folder.FullName);
        AppDomain.CurrentDomain.ProcessExit += (_, _) => folder.Delete(recursive: true);
    }
}
